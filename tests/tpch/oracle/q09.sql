-- key: the nation and the year
select
    n_name as out_nation,
    year(o_orderdate) as out_o_year,
    part.rid as part,
    supplier.rid as supplier,
    lineitem.rid as lineitem,
    partsupp.rid as partsupp,
    orders.rid as orders,
    nation.rid as nation
from part
join partsupp on ps_partkey = p_partkey
join lineitem on l_partkey = ps_partkey and l_suppkey = ps_suppkey
join orders on o_orderkey = l_orderkey
join supplier on s_suppkey = ps_suppkey
join nation on n_nationkey = s_nationkey
where contains(p_name, 'green')
