/** Reads the goals of a delegation from the input of its call. */

/** In the order of the tasks. */
export function listGoals(input: unknown): readonly string[] {
  const { goal, tasks } = Object(input) as { readonly goal?: unknown; readonly tasks?: unknown }
  const listed = Array.isArray(tasks) ? tasks.map((task) => (Object(task) as { readonly goal?: unknown }).goal) : [goal]
  return listed.map((one) => (typeof one === 'string' ? one : ''))
}
