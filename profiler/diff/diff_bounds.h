/*
 * How far a difference can be told from noise: bootstrap over windows.
 *
 * A side's value is a ratio of sums over its windows, S * (x1 + x2 + ...) / (w1 + w2 + ...): say nanoseconds of a stall
 * over seconds of wall time. Windows are drawn again with replacement, from 20 on in blocks of neighbours (the cube root of their
 * number), since neighbours are alike; the spread of the ratio over the draws is its standard error. Rows are judged together:
 * the largest of all rows' deviations exceeds some number of standard errors in one draw of a hundred (at a confidence of 0.99); as
 * seldom as one row alone exceeds that, so seldom may it be beyond its own bounds, which Student's t gives for so few windows.
 * So one comparison in a hundred calls some row changed that is not.
 *
 * The draws are the same each time: they come from a fixed seed.
 */
#ifndef STALLPROF_PROFILER_DIFF_BOUNDS_H
#define STALLPROF_PROFILER_DIFF_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIFF_DRAWS 1000
#define DIFF_SEED  0x5354414c4c50524full

/* What one row has in some of the windows; the others are 0. */
struct diff_points {
	uint32_t *window; /* ascending */
	double *value;
	size_t count, room;
};

/* Adds to a window's value; windows come in ascending order, each as often as you like. 0, -ENOMEM. */
int diff_points_add(struct diff_points *points, uint32_t window, double value);
void diff_points_free(struct diff_points *points);
double diff_points_sum(const struct diff_points *points);

/* What the windows of both sides are weighted by; rows that are divided by the same share it. */
struct diff_spread {
	double *weight[2]; /* by window */
	double scale[2];
};

/* A row's two sides, and what diff_bounds() finds. */
struct diff_bound {
	const struct diff_points *side[2];
	size_t spread;     /* its index */
	double value[2];   /* base, new */
	double error;      /* standard error of new - base */
	double low, high;  /* of new - base */
	double half;       /* how far they are from it */
	size_t windows[2]; /* of a side, in which its weight is above 0: the others say nothing of it */
	bool judged;       /* false: a side has fewer than two such windows, so there are no bounds */
};

/* How the sides relate: those of two filters of one profile have the same windows, which are then drawn together. */
enum diff_pairing { DIFF_SEPARATE, DIFF_PAIRED };

struct diff_windows {
	size_t count[2];
	enum diff_pairing pairing;
	const struct diff_spread *spreads;
	size_t spread_count;
};

/* Fills all but side and spread of each. 0, -ENOMEM. */
int diff_bounds(struct diff_bound *bounds, size_t count, const struct diff_windows *windows,
                double confidence);

/* Draws as many windows as there are: times[i] is how often window i was drawn. `state` begins as DIFF_SEED. */
void diff_draw(uint32_t *times, size_t count, uint64_t *state);

/* The quantile of Student's t: the t that |T| exceeds with probability 1 - confidence. */
double diff_student(double confidence, double degrees);

#endif
