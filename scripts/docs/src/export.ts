/** The page and the JSON Schema of docs/reference on the lines of exports. Pure, as the other pages. */
import type { ExportKind, LineType } from '@hermod/server/dist/transfer/lines.js'
import { code, markdownPage, markdownTable } from './render.js'

type Kind = LineType['columns'][number]['kind']

const kinds: Readonly<Record<Kind, { readonly schema: object; readonly text: string }>> = {
  text: { schema: { type: 'string' }, text: 'text' },
  bigint: {
    schema: { type: 'string', pattern: '^(0|-?[1-9][0-9]{0,18})$' },
    text: 'integer of 64 bits, as decimal text',
  },
  integer: {
    schema: { type: 'integer', minimum: -(2 ** 31) + 1, maximum: 2 ** 31 - 1 },
    text: 'integer',
  },
  smallint: {
    schema: { type: 'integer', minimum: -(2 ** 15) + 1, maximum: 2 ** 15 - 1 },
    text: 'small integer',
  },
}

/** The names of the files with the schemas, next to the page. */
export const exportSchemaFiles = {
  move: 'export.schema.json',
  portable: 'export-portable.schema.json',
} as const

type LineTypes = Readonly<Record<ExportKind, readonly LineType[]>>

/** Returns one JSON Schema (2020-12) for all lines of a kind of export. */
export function renderExportSchema(lineTypes: LineTypes, kind: ExportKind): string {
  const types = lineTypes[kind]
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: `A line of a ${kind} export of Hermod`,
    oneOf: types.map(({ name }) => ({ $ref: `#/$defs/${name}` })),
    $defs: Object.fromEntries(types.map((type) => [type.name, lineSchema(type)])),
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

function lineSchema({ name, columns, key }: LineType) {
  const members = columns.map(({ member, kind }) => [member, kinds[kind].schema])
  const inKey = columns.filter((column) => key.includes(column.name))
  return {
    type: 'object',
    properties: { type: { const: name }, ...Object.fromEntries(members) },
    required: ['type', ...inKey.map(({ member }) => member)],
    additionalProperties: false,
  }
}

export function renderExport({ move: types, portable }: LineTypes): string {
  const isPortable = (type: string, column: string) =>
    portable.find(({ name }) => name === type)?.columns.some(({ name }) => name === column) ?? false
  return markdownPage('Exports', [
    'The folder that `hermod export` writes, and that `hermod import` reads. A portable export, the default, has applications without credentials; `--move` has all of an installation. [Moving](../guides/moving.md) shows how to use them, [079](../decisions/079-transfer.md) and [084](../decisions/084-portable.md) explain their form.',
    '## The folder',
    markdownTable(
      ['File', 'Contents'],
      [
        [
          code('manifest.json'),
          'format, kind, applications of a portable export with counts of what they need anew, version, schema, engine, epoch, ID of the secret key (empty in a portable export), parts with size and SHA-256, digest, counts of files, what was left out',
        ],
        [
          code('lines/TYPE.ndjson'),
          'one line of JSON for each row of a type, in the order of its key',
        ],
        [
          code('files.ndjson'),
          'one line for each file of the service, in the order of `lines/files.ndjson`: `key`, `size`, `content_type`, `sha256` (empty: the file stays in S3, with `--move`)',
        ],
        [code('files/KEY'), 'the files of the service'],
        [
          code('COMPLETE'),
          'SHA-256 of `manifest.json`, written last: without it the export is not complete',
        ],
      ],
    ),
    '## Lines',
    `A line is an object as RFC 8785 (JSON Canonicalization Scheme) writes it: UTF-8, members in order, no spaces. Its member \`type\` names the table, the others are columns; a column that is named \`type\` itself is the member \`kind\`. Null is left out. Texts are not normalised, and JSON that is stored as text is a text here. [${exportSchemaFiles.move}](${exportSchemaFiles.move}) has the JSON Schemas, [${exportSchemaFiles.portable}](${exportSchemaFiles.portable}) those of portable exports.`,
    'The digest of a type is the number of its lines and the sum modulo 2^256 of SHA-256 over each line without its line break. It does not depend on the order, and is the same for SQLite and PostgreSQL; `hermod digest` prints it.',
    'In a portable export, addresses of files have no host and no signature: `hermod:base` stands for the address of the installation, `hermod:link:` comes before the signed values of a link, which are a JSON list in base64url: application, file ID, type and ID of the recipient (1 user, 2 group, 0 all), maker, creation and expiry in milliseconds. The file is below `files/` under the key that begins with `app-APP/` and has the file ID. A text that has `hermod:` itself has `hermod:text:` in its place.',
    '`hermod digest --portable` and `hermod digest --app APP` print the digest of what a portable export has, which is the same before an export and after its import.',
    'What is not in lines is made again by an import: counts, and the positions of webhooks and readers of the log, which are at the end. Leases, sessions, jobs, events that are delivered, and waiting events are not exported. A member that is not portable is empty after the import of a portable export, or has a new value: the keys of the addresses of files, and the registration secret of an application that had one.',
    '## Types',
    ...types.flatMap(({ name, columns, key }) => [
      `### ${name}`,
      markdownTable(
        ['Member', 'Kind', 'Key', 'Portable'],
        columns.map((column) => [
          code(column.member),
          kinds[column.kind].text,
          key.includes(column.name) ? 'yes' : '',
          isPortable(name, column.name) ? 'yes' : 'no',
        ]),
      ),
    ]),
  ])
}
