-- key: the order; only the ten groups that survive the limit
with combination as (
    select l_orderkey, o_orderdate, l_extendedprice * (1 - l_discount) as revenue,
           customer.rid as customer, orders.rid as orders, lineitem.rid as lineitem
    from customer
    join orders on o_custkey = c_custkey
    join lineitem on l_orderkey = o_orderkey
    where c_mktsegment = 'BUILDING'
      and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
),
top as (
    select l_orderkey
    from combination
    group by l_orderkey, o_orderdate
    order by sum(revenue) desc, o_orderdate
    limit 10
)
select l_orderkey as out_l_orderkey, customer, orders, lineitem
from combination semi join top using (l_orderkey)
