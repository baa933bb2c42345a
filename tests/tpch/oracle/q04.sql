-- key: the priority; EXISTS contributes every late line of an order in the group
select o_orderpriority as out_o_orderpriority, orders.rid as orders, lineitem.rid as lineitem
from orders join lineitem on l_orderkey = o_orderkey
where o_orderdate between date '1993-07-01' and date '1993-09-30'
  and l_commitdate < l_receiptdate
