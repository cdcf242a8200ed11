/** The page and the JSON Schema of docs/reference on files in the format of Stream. Pure, as the other pages. */
import {
  leftOutTypes,
  namesOf,
  streamItems,
  streamSchema,
  unmappedMembers,
} from '@hermod/server/dist/imports/stream/stream-items.js'
import { code, markdownPage, markdownTable } from './render.js'

/** The name of the file with the schemas, next to the page. */
export const streamSchemaFile = 'import-stream.schema.json'

/** Returns one JSON Schema (2020-12) for all lines. */
export function renderStreamSchema(): string {
  return `${JSON.stringify(streamSchema(), null, 2)}\n`
}

export function renderStream(): string {
  return markdownPage('Files of Stream', [
    'The lines that `hermod import stream` reads. [Moving](../guides/importing.md#from-stream) shows how to use it, [086](../decisions/086-import-from-stream.md) explains the choices.',
    `A file has one JSON object a line, or is a JSON array of objects, in UTF-8. An object has a \`type\` and the members below in \`data\` (in older files \`item\`). Items come in any order. [${streamSchemaFile}](${streamSchemaFile}) has the JSON Schema. Members that are null or \`""\` count as absent. Other members are custom: those of messages are kept, all others are counted and left out.`,
    ...Object.entries(streamItems).flatMap(([type, fields]) => [
      `## ${type}`,
      ...(namesOf(type).length > 1
        ? [`Also as ${namesOf(type).slice(1).map(code).join(', ')}.`]
        : []),
      markdownTable(
        ['Member', 'Needed', 'Must be', 'Meaning'],
        Object.entries(fields).map(([name, { isRequired, form, description }]) => [
          code(name),
          isRequired ? 'yes' : '',
          form,
          description,
        ]),
      ),
      `Counted and left out: ${[...unmappedMembers[type as keyof typeof streamItems]].map(code).join(', ')}.`,
    ]),
    '## Left out',
    markdownTable(
      ['Type', 'Reason'],
      Object.entries(leftOutTypes).map(([type, reason]) => [code(type), reason]),
    ),
  ])
}
