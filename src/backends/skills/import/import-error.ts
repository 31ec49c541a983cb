/** Defines the error that ends an import. Its message is for the person who asked for it. */

export class ImportError extends Error {
  override readonly name = 'ImportError'
}
