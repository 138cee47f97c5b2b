// Markers that would lie on each other become one. No DOM in here.

/**
 * Each point stands for those that are nearer to it than `apart`, unless another one before it does.
 * @template {{user: string, x: number, y: number}} P
 * @param {readonly P[]} points in pixels, the most important first
 * @param {number} apart pixels
 * @param {string | null} [alone] this user stands alone
 * @returns {Map<string, string[]>} by who stands for them: all of them, the one that stands for them first
 */
export function clustersOf(points, apart, alone = null) {
    const clusters = new Map();
    const standing = new Map(); // by square of the map
    const square = (x, y) => `${x},${y}`;
    for (const { user, x, y } of points) {
        const [column, row] = [Math.floor(x / apart), Math.floor(y / apart)];
        const near = user === alone ? undefined : [-1, 0, 1]
            .flatMap((dx) => [-1, 0, 1].flatMap((dy) => standing.get(square(column + dx, row + dy)) ?? []))
            .find((other) => Math.hypot(other.x - x, other.y - y) < apart);
        if (near) {
            clusters.get(near.user).push(user);
            continue;
        }
        clusters.set(user, [user]);
        if (user === alone) continue;
        const key = square(column, row);
        standing.set(key, [...(standing.get(key) ?? []), { user, x, y }]);
    }
    return clusters;
}
