-- key: the nation
select
    n_name as out_n_name,
    customer.rid as customer,
    orders.rid as orders,
    lineitem.rid as lineitem,
    supplier.rid as supplier,
    nation.rid as nation,
    region.rid as region
from region
join nation on n_regionkey = r_regionkey
join supplier on s_nationkey = n_nationkey
join customer on c_nationkey = n_nationkey
join orders on o_custkey = c_custkey
join lineitem on l_orderkey = o_orderkey and l_suppkey = s_suppkey
where r_name = 'ASIA' and o_orderdate between date '1994-01-01' and date '1994-12-31'
