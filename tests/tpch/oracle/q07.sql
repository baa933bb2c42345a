-- key: both nations and the year; nation is n1 (supplier), nation_2 is n2 (customer)
select
    n1.n_name as out_supp_nation,
    n2.n_name as out_cust_nation,
    year(l_shipdate) as out_l_year,
    supplier.rid as supplier,
    lineitem.rid as lineitem,
    orders.rid as orders,
    customer.rid as customer,
    n1.rid as nation,
    n2.rid as nation_2
from lineitem
join orders on o_orderkey = l_orderkey
join customer on c_custkey = o_custkey
join supplier on s_suppkey = l_suppkey
join nation as n1 on n1.n_nationkey = s_nationkey
join nation as n2 on n2.n_nationkey = c_nationkey
where (n1.n_name, n2.n_name) in (('FRANCE', 'GERMANY'), ('GERMANY', 'FRANCE'))
  and year(l_shipdate) in (1995, 1996)
