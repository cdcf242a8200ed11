/**
 * The operations of an OpenAPI document for readers: by section, with the methods of one operation
 * together and nested fields flattened.
 */
import { type CallerRule, describeCallers } from '../callers.js'
import { type JsonSchema, lastSegment, resolveSchema, type Schemas } from '../json-schema.js'
import type { OpenApiDocument, OpenApiOperation } from './document.js'
import type { Content, OpenApiParameter } from './parts.js'
import {
  exampleCall,
  exampleIn,
  type MethodEntry,
  type ReferenceRequest,
  recordedRequest,
} from './recorded-calls.js'
import { credentialParameters } from './security.js'

/** A parameter or a field of an answer. */
export interface ReferenceField {
  /** Dots lead into objects, `[]` into lists: `data[].from_xid.uid`. */
  readonly path: string
  readonly type: string
  readonly required: boolean
  readonly description: string
  /** Bounds of the value beyond its type; "" for none. */
  readonly bounds: string
}

/** An operation in the reference, with all its methods. */
export interface ReferenceOperation {
  readonly id: string
  readonly methods: readonly string[]
  /** The method that callers use; the others do the same. */
  readonly method: string
  readonly path: string
  readonly summary: string
  /** "" when the summary is complete. */
  readonly notes: string
  readonly callers: string
  readonly planned: boolean
  readonly headers: readonly ReferenceField[]
  readonly query: readonly ReferenceField[]
  readonly body: readonly ReferenceField[]
  readonly answer: readonly ReferenceField[]
  readonly answersFile: boolean
  readonly errors: OpenApiOperation['x-hermod-errors']
  /** A recorded call without its credentials. */
  readonly request: ReferenceRequest
  /** The call as a shell command. */
  readonly example: string
  /** The envelope that answered the call; undefined for a file. */
  readonly answerExample: unknown
}

/** The operations of one tag, in the order of the document. */
export interface ReferenceSection {
  readonly name: string
  readonly description: string
  readonly operations: readonly ReferenceOperation[]
}

/** Returns the sections in the order of the tags; operations keep the order of the document. */
export function referenceSections(document: OpenApiDocument): ReferenceSection[] {
  const entries = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation,
    })),
  )
  return document.tags.map(({ name, description }) => {
    const tagged = entries.filter(({ operation }) => operation.tags.includes(name))
    const ids = [...new Set(tagged.map(({ operation }) => operation['x-hermod-operation']))]
    const operations = ids.map((id) =>
      describe(
        document,
        tagged.filter(({ operation }) => operation['x-hermod-operation'] === id),
      ),
    )
    return { name, description, operations }
  })
}

/** Merges the entries of all methods of one operation, which are equal otherwise. */
function describe(document: OpenApiDocument, entries: readonly MethodEntry[]): ReferenceOperation {
  const main = entries.find(({ operation }) => operation['x-hermod-twin-of'] === undefined)
  if (main === undefined) throw new Error('an operation has a method that is no twin')
  const { path, method, operation } = main
  const parameters = allParameters(document, operation)
  const body = bodyContent(operation)
  const answer = answerContent(operation)
  const request = recordedRequest(document, main, parameters)
  return {
    id: operation['x-hermod-operation'],
    methods: entries.map((each) => each.method),
    method,
    path,
    summary: operation.summary,
    notes: operation['x-hermod-notes'] ?? '',
    callers: describeCallers(
      operation['x-hermod-callers'] as CallerRule,
      operation['x-hermod-scopes'] ?? [],
    ),
    planned: operation['x-hermod-status'] === 'planned',
    headers: parameters
      .filter((each) => each.in === 'header')
      .map((each) => parameterField(document, each)),
    query: parameters
      .filter((each) => each.in === 'query')
      .map((each) => parameterField(document, each)),
    body: body ? bodyFields(document, body) : [],
    answer: answer
      ? nestedFields(document, answer).filter(
          ({ path: name }) => name !== 'code' && name !== 'message',
        )
      : [],
    answersFile: answer === undefined,
    errors: operation['x-hermod-errors'],
    request,
    example: exampleCall(main, request),
    answerExample: exampleIn(document, successContent(operation)),
  }
}

/** The credentials, and the parameters that are not among them. */
function allParameters(
  document: OpenApiDocument,
  { parameters, security }: OpenApiOperation,
): OpenApiParameter[] {
  const declared = parameters.map((parameter) => resolveParameter(document, parameter))
  const isDeclared = ({ name }: OpenApiParameter) => declared.some((each) => each.name === name)
  return [...credentialParameters(security).filter((each) => !isDeclared(each)), ...declared]
}

function resolveParameter(
  document: OpenApiDocument,
  parameter: OpenApiOperation['parameters'][number],
): OpenApiParameter {
  if (!('$ref' in parameter)) return parameter
  const found = document.components.parameters[lastSegment(parameter.$ref)]
  if (found === undefined) throw new Error(`no parameter ${parameter.$ref}`)
  return found
}

function bodyContent(operation: OpenApiOperation): JsonSchema | undefined {
  return operation.requestBody?.content['application/json']?.schema
}

/** The envelope of a success; undefined when the answer is a file. */
function answerContent(operation: OpenApiOperation): JsonSchema | undefined {
  const [kind] = Object.entries(successContent(operation) ?? {})
  return kind?.[0] === 'application/json' ? kind[1].schema : undefined
}

function successContent({ responses }: OpenApiOperation): Content | undefined {
  const success = responses[200]
  return success === undefined || '$ref' in success ? undefined : success.content
}

// Fields

function parameterField(document: OpenApiDocument, parameter: OpenApiParameter): ReferenceField {
  const description = parameter.description ?? ''
  return {
    ...referenceField(document, parameter.name, { ...parameter.schema, description }),
    required: parameter.required === true,
  }
}

/** Shows a body that is not an object as a single field. */
function bodyFields(document: OpenApiDocument, schema: JsonSchema): ReferenceField[] {
  if (schema.properties) return nestedFields(document, schema)
  return [
    { ...referenceField(document, '(the whole body)', schema), required: true },
    ...innerFields(document, schema, ''),
  ]
}

/** A document with the schemas that its parts refer to. */
interface Describing {
  readonly components: { readonly schemas: Schemas }
}

/** Returns the fields of an object, and those inside them. */
export function nestedFields(
  document: Describing,
  schema: JsonSchema,
  prefix = '',
): ReferenceField[] {
  const required = schema.required ?? []
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`
    return [
      { ...referenceField(document, path, property), required: required.includes(name) },
      ...innerFields(document, property, path),
    ]
  })
}

/** Members of an object, of a list of objects, or of either of several shapes. */
function innerFields(document: Describing, schema: JsonSchema, path: string): ReferenceField[] {
  const resolved = resolveSchema(document.components.schemas, schema)
  if (resolved.anyOf) return resolved.anyOf.flatMap((option) => innerFields(document, option, path))
  if (resolved.items) return innerFields(document, resolved.items, `${path}[]`)
  return nestedFields(document, resolved, `${path}.`)
}

function referenceField(
  document: Describing,
  path: string,
  schema: JsonSchema,
): Omit<ReferenceField, 'required'> {
  const options = schema.anyOf?.filter((option) => option.type !== 'null') ?? []
  // A nullable schema is described by its only other option.
  const told = options.length === 1 && options[0] !== undefined ? options[0] : schema
  const description =
    told.description ?? resolveSchema(document.components.schemas, told).description ?? ''
  return { path, type: typeName(told), description, bounds: boundsOf(told) }
}

function typeName(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return lastSegment(schema.$ref)
  if (schema.anyOf) return schema.anyOf.map(typeName).join(' or ')
  if (schema.type === 'array') return `array of ${typeName(schema.items ?? {})}`
  if (schema.type === 'integer' || schema.type === 'number') return schema.format ?? schema.type
  return typeof schema.type === 'string' ? schema.type : 'any'
}

const int32Range = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }

function boundsOf(schema: JsonSchema): string {
  const minimum = schema.minimum === int32Range.minimum ? undefined : schema.minimum
  const maximum = schema.maximum === int32Range.maximum ? undefined : schema.maximum
  const words = schema.type === 'string' && schema.enum ? [`one of ${schema.enum.join(', ')}`] : []
  return [
    ...words,
    range(minimum, maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
    schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
  ]
    .filter((part) => part !== '')
    .join('; ')
}

function range(least: unknown, most: unknown, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`
  if (least !== undefined) return `at least ${least}${unit}`
  return most === undefined ? '' : `at most ${most}${unit}`
}
