// Remembers which tenant owns a workspace. Clients name it in the header x-talaria-tenant; a workspace without one is a
// tenant of its own.

const namePattern = /^[a-z0-9][a-z0-9_-]{7,79}$/
const maxKnown = 50_000

export function openTenants() {
  const known = new Map()
  return {
    assign(workspace, tenant) {
      if (!namePattern.test(workspace) || !namePattern.test(tenant ?? '')) return
      if (known.size > maxKnown) known.clear()
      known.set(workspace, tenant)
    },
    of: (workspace) => known.get(workspace) ?? workspace,
  }
}
