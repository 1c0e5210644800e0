"""Pure functions over arrays, one idea a file; statistics.md has each one's question and source.

Each module imports only from earlier ones: levels, signed_rank, student, verdict, description,
false_discovery, trimmed, moderation, guard, paired, judgement, prospects, weighted_mean, apart,
order_statistics, resampling, breakpoints, segments, capacities, lines, expansion, impact, scalability,
multiprogramming, boots.
"""
