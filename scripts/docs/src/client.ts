/** The page of docs/reference on the client package. Pure, as the other pages. */
import type { Declaration, DeclarationKind, EntryDeclarations } from './declarations.js'
import { code, markdownPage } from './render.js'

/** Entries of the package by the name that apps import, the one for browsers first. */
export type ClientEntries = Readonly<Record<string, EntryDeclarations>>

const order: readonly DeclarationKind[] = ['function', 'const', 'class', 'interface', 'type']

/** Declarations that several entries export are shown with the first of them. */
export function renderClient(entries: ClientEntries): string {
  const shown = new Map<string, string>()
  const sections = Object.entries(entries).flatMap(([entry, { doc, declarations }]) => {
    const own = declarations.filter((declaration) => shown.get(keyOf(declaration)) === undefined)
    const others = new Set(
      declarations.flatMap((declaration) => shown.get(keyOf(declaration)) ?? []),
    )
    for (const declaration of own) shown.set(keyOf(declaration), entry)
    return [
      `## ${entry}`,
      ...proseOf(doc),
      ...[...others].map((other) => `It exports what ${code(other)} exports, too.`),
      ...own
        .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
        .flatMap(declarationSection),
    ]
  })
  const linked = (text: string) => withLinks(text, new Set([...shown.keys()].map(nameOf)))
  const parts = [
    'The package `@hermod/client`: all that its entries export, from the comments of the sources. All members are read-only. [The guide](../guides/client.md) shows the use.',
    ...sections.map(linked),
  ]
  return markdownPage('Client', parts, 'packages/client')
}

function keyOf({ path, name }: Declaration): string {
  return `${path}#${name}`
}

function nameOf(key: string): string {
  return key.slice(key.indexOf('#') + 1)
}

function declarationSection({ name, kind, doc, text, members }: Declaration): string[] {
  const prose = proseOf(doc)
  const signature =
    kind === 'function' || kind === 'type' || /[<( ]/.test(text)
      ? [['```ts', `${kind === 'function' ? '' : `${kind} `}${text}`, '```'].join('\n')]
      : []
  const list = members.map((member) => `- ${code(oneLine(member.text))}${meaningOf(member.doc)}`)
  return [`### ${name}`, ...prose, ...signature, ...(list.length > 0 ? [list.join('\n')] : [])]
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ')
}

function meaningOf(doc: string): string {
  const prose = proseOf(doc).join(' ')
  return prose === '' ? '' : `: ${prose}`
}

/** Paragraphs and lists of a doc comment, with its tags as sentences. */
function proseOf(doc: string): string[] {
  const joined = doc
    .replaceAll(/\n(?![\n@-])/g, ' ')
    .replaceAll(/^@returns (.*)$/gm, 'Returns: $1.')
    .replaceAll(/^@param (\S+) (.*)$/gm, '`$1`: $2.')
    .replaceAll(/^@throws (\S+)\s*(.*)$/gm, (_, error: string, when: string) =>
      `Throws ${code(error)} ${when}`.trimEnd().concat('.'),
    )
    .replaceAll(/([.;:!?])\.$/gm, '$1')
  return joined
    .split(/\n(?!- )/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** `{@link X}` and `{@link X.y}` lead to the section of X, where the page has one. */
function withLinks(text: string, names: ReadonlySet<string>): string {
  return text
    .replaceAll(/\bdocs\/reference\/(\w+\.md)/g, '[$1]($1)')
    .replaceAll(/\{@link (\w+)([^}]*)\}/g, (_, name: string, rest: string) =>
      names.has(name) ? `[${code(name + rest)}](#${name.toLowerCase()})` : code(name + rest),
    )
}
