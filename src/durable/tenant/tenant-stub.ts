/** The way to the object of a tenant. */

export const tenantStub = ({ TENANT }: Pick<Env, 'TENANT'>, tenantId: string) => TENANT.getByName(`t/${tenantId}`)
