-- key: the ship mode
select l_shipmode as out_l_shipmode, orders.rid as orders, lineitem.rid as lineitem
from orders join lineitem on l_orderkey = o_orderkey
where l_shipmode in ('MAIL', 'SHIP')
  and l_shipdate < l_commitdate and l_commitdate < l_receiptdate
  and l_receiptdate between date '1994-01-01' and date '1994-12-31'
