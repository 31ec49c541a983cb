// The worker runs in workerd, whose types are those of @cloudflare/workers-types. Packages for Node depend on the types of
// Node and refer to them; with both, `setTimeout` has two answers. This package without types stands at their place.
declare module 'no-node-types' {}
