/** Parts of an OpenAPI document that operations and webhooks share. */
import type { JsonSchema } from '../json-schema.js'

/** A query parameter, or a header under the components. */
export interface OpenApiParameter {
  readonly name: string
  readonly in: 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: JsonSchema
  readonly example?: unknown
}

/** A pointer into the components, such as `#/components/schemas/Group`. */
export interface OpenApiReference {
  readonly $ref: string
}

/** Schemas and examples by media type. */
export type Content = Readonly<
  Record<
    string,
    {
      readonly schema: JsonSchema
      readonly examples?: Readonly<Record<string, OpenApiReference>>
    }
  >
>

/** An answer, by media type. */
export interface OpenApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Content
}
