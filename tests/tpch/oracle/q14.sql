-- no key: one output row; lines of other parts count in the denominator
select lineitem.rid as lineitem, part.rid as part
from lineitem join part on p_partkey = l_partkey
where l_shipdate between date '1995-09-01' and date '1995-09-30'
