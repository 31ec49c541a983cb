/** Whether bubblewrap can isolate commands here. Where it cannot, importing this fails in CI. */
export const hasBubblewrap: boolean
