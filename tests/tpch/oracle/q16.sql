-- key: the group; the inner side of NOT IN contributes nothing
select
    p_brand as out_p_brand,
    p_type as out_p_type,
    p_size as out_p_size,
    partsupp.rid as partsupp,
    part.rid as part,
    null::bigint as supplier
from part join partsupp on ps_partkey = p_partkey
where p_brand <> 'Brand#45'
  and not starts_with(p_type, 'MEDIUM POLISHED')
  and p_size in (3, 9, 14, 19, 23, 36, 45, 49)
  and not exists (
      from supplier where s_suppkey = ps_suppkey and s_comment like '%Customer%Complaints%'
  )
