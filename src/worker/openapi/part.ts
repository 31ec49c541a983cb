/** Exports what `/openapi.json` and `/docs` need. It is bundled apart, because few requests ask for them. */

export { pickSchema } from './pick-schema.ts'
export { renderDocument } from './render-document.ts'
export { referencePolicy, renderReferencePage } from './reference-page.ts'
