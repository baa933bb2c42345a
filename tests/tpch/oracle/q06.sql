-- no key: one output row
select rid as lineitem
from lineitem
where l_shipdate between date '1994-01-01' and date '1994-12-31'
  and l_discount in (0.05, 0.06, 0.07)
  and l_quantity < 24
