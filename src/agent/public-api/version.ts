/** The version of the API, as the OpenAPI document and `/v1/capabilities` show it. */

export const apiVersion = '0.1.0'
