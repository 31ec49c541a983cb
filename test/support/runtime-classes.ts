/** Stands for the classes of the runtime in tests that run in Node. */

export const RpcTarget = Object
