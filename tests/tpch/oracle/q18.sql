-- key: the order; lineitem_2 is the whole group behind the order's key in the IN subquery
with large as (
    select o_orderkey, customer.rid as customer, orders.rid as orders
    from orders join customer on c_custkey = o_custkey
    where (select sum(l_quantity) from lineitem where l_orderkey = o_orderkey) > 300
    order by o_totalprice desc, o_orderdate
    limit 100
)
select o_orderkey as out_o_orderkey, customer, orders, lineitem.rid as lineitem,
       lineitem.rid as lineitem_2
from large join lineitem on l_orderkey = o_orderkey
