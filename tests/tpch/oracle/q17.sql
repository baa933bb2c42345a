-- no key: one output row; lineitem_2 is every line of a part that has a small one
with small as (
    select p_partkey, part.rid as part, lineitem.rid as lineitem
    from part join lineitem on l_partkey = p_partkey
    where p_brand = 'Brand#23' and p_container = 'MED BOX'
      and l_quantity < (
          select 0.2 * sum(l_quantity) / count(*) from lineitem as every where every.l_partkey = p_partkey
      )
)
select lineitem, part, every.rid as lineitem_2
from small join lineitem as every on every.l_partkey = p_partkey
