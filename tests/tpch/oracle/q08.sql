-- key: the year; nation is n1 (customer), nation_2 is n2 (supplier, of any nation: the denominator)
select
    year(o_orderdate) as out_o_year,
    part.rid as part,
    supplier.rid as supplier,
    lineitem.rid as lineitem,
    orders.rid as orders,
    customer.rid as customer,
    n1.rid as nation,
    n2.rid as nation_2,
    region.rid as region
from part
join lineitem on l_partkey = p_partkey
join supplier on s_suppkey = l_suppkey
join nation as n2 on n2.n_nationkey = s_nationkey
join orders on o_orderkey = l_orderkey
join customer on c_custkey = o_custkey
join nation as n1 on n1.n_nationkey = c_nationkey
join region on r_regionkey = n1.n_regionkey
where r_name = 'AMERICA'
  and p_type = 'ECONOMY ANODIZED STEEL'
  and year(o_orderdate) in (1995, 1996)
