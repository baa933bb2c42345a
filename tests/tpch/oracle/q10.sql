-- key: the customer; only the twenty groups that survive the limit
with combination as (
    select c_custkey, l_extendedprice * (1 - l_discount) as revenue,
           customer.rid as customer, orders.rid as orders, lineitem.rid as lineitem,
           nation.rid as nation
    from customer
    join nation on n_nationkey = c_nationkey
    join orders on o_custkey = c_custkey
    join lineitem on l_orderkey = o_orderkey
    where o_orderdate between date '1993-10-01' and date '1993-12-31' and l_returnflag = 'R'
),
top as (
    select c_custkey from combination group by c_custkey order by sum(revenue) desc limit 20
)
select c_custkey as out_c_custkey, customer, orders, lineitem, nation
from combination semi join top using (c_custkey)
