/** Restricts the objects of a deployment to the jurisdiction that `JURISDICTION` names (docs/deploy.md). */

type Namespaces = 'SESSION' | 'TENANT' | 'CONNECTION'

/** The same name is another object in another jurisdiction, so every entry and every object must use this. */
export function inJurisdiction<E extends Pick<Env, Namespaces | 'JURISDICTION'>>(env: E): E {
  const area = env.JURISDICTION
  if (!area) return env
  const { SESSION, TENANT, CONNECTION } = env
  return {
    ...env,
    SESSION: SESSION.jurisdiction(area),
    TENANT: TENANT.jurisdiction(area),
    ...(CONNECTION && { CONNECTION: CONNECTION.jurisdiction(area) }),
  }
}
