-- key: supplier name and part; the `_2` occurrences are the subquery's: every European offer of the
-- part, not only the cheapest
with offer as (
    select ps_partkey, ps_supplycost, s_acctbal, s_name, n_name,
           supplier.rid as supplier, partsupp.rid as partsupp, nation.rid as nation,
           region.rid as region
    from region
    join nation on n_regionkey = r_regionkey
    join supplier on s_nationkey = n_nationkey
    join partsupp on ps_suppkey = s_suppkey
    where r_name = 'EUROPE'
),
best as (
    select part.rid as part, offer.*
    from part join offer on ps_partkey = p_partkey
    where p_size = 15 and p_type like '%BRASS'
      and not exists (
          from offer as cheaper
          where cheaper.ps_partkey = offer.ps_partkey
            and cheaper.ps_supplycost < offer.ps_supplycost
      )
    order by s_acctbal desc, n_name, s_name, ps_partkey
    limit 100
)
select
    best.s_name as out_s_name,
    best.ps_partkey as out_p_partkey,
    best.part as part,
    best.supplier as supplier,
    best.partsupp as partsupp,
    best.nation as nation,
    best.region as region,
    offer.partsupp as partsupp_2,
    offer.supplier as supplier_2,
    offer.nation as nation_2,
    offer.region as region_2
from best join offer on offer.ps_partkey = best.ps_partkey
