"""The functions that a query may call, by DuckDB's names.

They depend on their arguments alone: none reads files, settings, the environment, the catalog,
variables or the clock, sleeps, or has a state. So a query is a function of its parameters and rows.
"""

from __future__ import annotations

_OPERATORS = """
! !~~ !~~* % & && * ** + - -> ->> / // < <-> << <= <=> <@ <> != = == > >= >> @ @> ^ ^@ ~ ~~ ~~*
~~~ | || like_escape ilike_escape not_like_escape not_ilike_escape add subtract multiply divide
"""

_CONDITIONS = """
coalesce ifnull nullif if greatest least constant_or_null equi_width_bins hash typeof
"""

_NUMBERS = """
abs acos acosh asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees even
exp factorial fdiv floor fmod gamma gcd greatest_common_divisor isfinite isinf isnan lcm
least_common_multiple lgamma ln log log10 log2 mod nextafter pi pow power radians round round_even
sign signbit sin sinh sqrt tan tanh trunc xor
"""

_TEXT = """
ascii array_to_string bar base64 bin bit_length char_length character_length chr concat concat_ws
contains damerau_levenshtein decode editdist3 encode ends_with format format_bytes
formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex hamming hex instr
jaccard jaro_similarity jaro_winkler_similarity lcase left left_grapheme len length
length_grapheme levenshtein lower lpad ltrim md5 md5_number mismatches nfc_normalize octet_length
ord position prefix printf regexp_escape regexp_extract regexp_extract_all regexp_full_match
regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme
rpad rtrim sha1 sha256 split split_part starts_with str_split str_split_regex string_split
string_split_regex string_to_array strip_accents strlen strpos substr substring substring_grapheme
suffix to_base to_base64 to_binary to_hex translate trim ucase unbin unhex unicode upper
url_decode url_encode
"""

_TIMES = """
century date_add date_diff date_part date_sub
date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear decade
epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear
julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
make_timestamptz microsecond millennium millisecond minute month monthname nanosecond quarter
second strftime strptime time_bucket timezone timezone_hour timezone_minute to_centuries to_days
to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters
to_seconds to_timestamp to_weeks to_years try_strptime week weekday
weekofyear year yearweek
"""

_NESTED = """
aggregate apply array_aggregate array_append array_apply array_cat array_concat array_contains
array_distinct array_extract array_filter array_has array_has_all array_has_any array_indexof
array_intersect array_length array_position array_prepend array_reduce array_reverse
array_reverse_sort array_select array_slice array_sort array_transform array_unique array_value
array_zip cardinality element_at filter flatten generate_series json_array_length json_contains
json_exists json_extract json_extract_path json_extract_path_text json_extract_string json_keys
json_type json_valid json_value list_aggr list_aggregate list_any_value list_append list_apply
list_avg list_cat list_concat list_contains list_count list_distinct list_element list_extract
list_filter list_first list_has list_has_all list_has_any list_indexof list_intersect list_last
list_max list_median list_min list_pack list_position list_prepend list_reduce list_reverse
list_reverse_sort list_select list_slice list_sort list_string_agg list_sum list_transform
list_unique list_value list_where list_zip map map_concat map_contains map_entries map_extract
map_extract_value map_from_entries map_keys map_values range reduce row struct_extract
struct_extract_at struct_insert struct_keys struct_pack struct_values unnest
"""

_AGGREGATES = """
any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
arg_min arg_min_null argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr
count count_if count_star countif covar_pop covar_samp entropy favg first fsum geomean
geometric_mean group_concat histogram kahan_sum kurtosis kurtosis_pop last list listagg mad max
max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_avgx
regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy sem skewness
stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance
weighted_avg
"""

_WINDOWS = """
cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank rank_dense
row_number
"""

AGGREGATES = frozenset(_AGGREGATES.split())
"""Functions of the rows of a group."""

FUNCTIONS = frozenset(
    name
    for names in (_OPERATORS, _CONDITIONS, _NUMBERS, _TEXT, _TIMES, _NESTED, _AGGREGATES, _WINDOWS)
    for name in names.split()
)
"""Functions and operators of values, groups and windows."""
