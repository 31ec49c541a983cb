/** Stands for the classes of the runtime in tests that run in Node. */

export class RpcTarget {}
