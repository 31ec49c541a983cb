/**
 * Imports the worker once for each isolate. The test runner imports it anew for every call of an object and every request,
 * and asks Node over a socket where the file is each time (`@cloudflare/vitest-plugin` 1.1).
 */

type Runner = { import: (path: string) => Promise<unknown>; worker?: unknown }

const { moduleRunner: runner } = Reflect.get(globalThis, '__vitest_mocker__') as { readonly moduleRunner: Runner }

if (!('worker' in runner)) {
  const load = runner.import.bind(runner)
  runner.worker = undefined
  runner.import = async (path) =>
    path.endsWith('/test/support/worker.ts') ? (runner.worker ??= await load(path)) : load(path)
}
