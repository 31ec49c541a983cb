/** Removes `pattern` and `format` from a JSON schema. Some servers cannot compile them into a grammar. */
export const simplifySchema = (schema: object): object =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      (key === 'pattern' || key === 'format') && typeof value === 'string' ? undefined : value,
    ),
  ) as object
