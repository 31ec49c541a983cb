/** Names a schedule of each kind: repeated, by cron, once after a delay. */
export const scheduleExamples = ['every 30m', '0 9 * * 1-5', '2h'] as const
