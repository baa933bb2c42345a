-- key: the number of orders; a customer without a counted order has no orders row
with placed as (
    select c_custkey, customer.rid as customer, orders.rid as orders
    from customer
    left join orders on o_custkey = c_custkey and o_comment not like '%special%requests%'
)
select count(orders) over (partition by c_custkey) as out_c_count, customer, orders
from placed
