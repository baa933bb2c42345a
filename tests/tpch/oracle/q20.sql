-- key: the supplier's name; IN contributes every matching offer, its forest part, and the lines of
-- 1994 whose quantities were added up for that offer
with shipped as (
    select l_partkey, l_suppkey, l_quantity, rid
    from lineitem
    where year(l_shipdate) = 1994
),
excess as (
    select ps_suppkey, ps_partkey, partsupp.rid as partsupp, part.rid as part
    from partsupp join part on p_partkey = ps_partkey
    where starts_with(p_name, 'forest')
      and 2 * ps_availqty > (
          select sum(l_quantity) from shipped where l_partkey = ps_partkey and l_suppkey = ps_suppkey
      )
)
select
    s_name as out_s_name,
    supplier.rid as supplier,
    nation.rid as nation,
    partsupp,
    part,
    shipped.rid as lineitem
from supplier
join nation on n_nationkey = s_nationkey
join excess on ps_suppkey = s_suppkey
join shipped on l_partkey = ps_partkey and l_suppkey = ps_suppkey
where n_name = 'CANADA'
