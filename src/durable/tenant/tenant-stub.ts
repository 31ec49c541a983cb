/** Gets the stub of a tenant's object. */

export const tenantStub = ({ TENANT }: Pick<Env, 'TENANT'>, tenantId: string) => TENANT.getByName(`t/${tenantId}`)
