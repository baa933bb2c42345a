-- key: the part; HAVING keeps the group, its subquery adds all German stock (`_2`) to every row
with german as (
    select ps_partkey, ps_supplycost * ps_availqty as value,
           partsupp.rid as partsupp, supplier.rid as supplier, nation.rid as nation
    from nation
    join supplier on s_nationkey = n_nationkey
    join partsupp on ps_suppkey = s_suppkey
    where n_name = 'GERMANY'
),
important as (
    select ps_partkey
    from german
    group by ps_partkey
    having 10000 * sum(value) > (select sum(value) from german)
)
select ps_partkey as out_ps_partkey, partsupp, supplier, nation
from german semi join important using (ps_partkey)
union all by name
select important.ps_partkey as out_ps_partkey, partsupp as partsupp_2, supplier as supplier_2,
       nation as nation_2
from important cross join german
