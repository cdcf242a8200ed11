/**
 * Reads the declaration files that the compiler emits: one form of writing, in which every
 * statement begins in the first column and members are indented by 4. TypeScript 7 has no API for
 * programs that read types, and TypeDoc needs one.
 */
import { dirname, join } from 'node:path/posix'

/** A member of an interface, a class or a constant object. */
export interface Member {
  /** The declaration, without `readonly`, comments and the semicolon. */
  readonly text: string
  readonly doc: string
}

export type DeclarationKind = 'function' | 'const' | 'class' | 'interface' | 'type'

/** A declaration that an entry exports. */
export interface Declaration {
  readonly name: string
  readonly kind: DeclarationKind
  /** The text of its doc comment, its lines without the asterisks; '' for none. */
  readonly doc: string
  /** The declaration, without comments, the words before the name and the body with members. */
  readonly text: string
  /** The members of an interface, a class or a constant object. */
  readonly members: readonly Member[]
  /** The file that declares it. */
  readonly path: string
}

/** An entry of a package. */
export interface EntryDeclarations {
  /** The comment at the top of its file. */
  readonly doc: string
  /** In the order of the exports. */
  readonly declarations: readonly Declaration[]
}

interface Statement {
  readonly doc: string
  readonly lines: readonly string[]
}

/**
 * Returns all that an entry exports, by following its re-exports.
 * @param path of the declaration file, with slashes
 * @param read returns the text of a file, or null when there is none
 * @throws Error when a file or an exported name is missing
 */
export function entryDeclarations(
  path: string,
  read: (path: string) => string | null,
): EntryDeclarations {
  const [first] = statementsOf(linesOf(path, read))
  const doc = first !== undefined && /^(import|export) .*from /.test(textOf(first)) ? first.doc : ''
  return { doc, declarations: exportsOf(path, read) }
}

function linesOf(path: string, read: (path: string) => string | null): string[] {
  const text = read(path)
  if (text === null) throw new Error(`${path} is missing: build first`)
  return text.split('\n')
}

function exportsOf(path: string, read: (path: string) => string | null): Declaration[] {
  return statementsOf(linesOf(path, read)).flatMap((statement) => {
    const text = textOf(statement)
    const source = / from '(\.[^']+)\.js';?$/.exec(text)?.[1]
    if (!text.startsWith('export ')) return []
    if (source === undefined) return declarationOf(statement, path)
    const found = exportsOf(join(dirname(path), `${source}.d.ts`), read)
    const names = /\{(.*)\}/.exec(text)?.[1]
    return names === undefined ? found : namesOf(names).map((name) => named(found, name, path))
  })
}

function namesOf(list: string): string[] {
  return list
    .split(',')
    .map((name) => name.replace(/^\s*type /, '').trim())
    .filter((name) => name !== '')
}

function named(declarations: readonly Declaration[], name: string, path: string): Declaration {
  const found = declarations.find((declaration) => declaration.name === name)
  if (!found) throw new Error(`${path} exports ${name}, whose declaration was not found`)
  return found
}

function declarationOf(statement: Statement, path: string): Declaration[] {
  const match =
    /^export (?:declare )?(?:abstract )?(function|const|class|interface|type) (\w+)(.*)$/s.exec(
      statement.lines.join('\n'),
    )
  if (!match) return []
  const [, kind, name = '', rest = ''] = match as unknown as [string, DeclarationKind, ...string[]]
  const hasMembers =
    kind === 'interface' || kind === 'class' || (kind === 'const' && /^: \{$/m.test(rest))
  const { doc, lines } = statement
  const members = hasMembers ? membersOf(lines.slice(1, -1)) : []
  const text = hasMembers ? (rest.split('\n')[0] ?? '').replace(/:? ?\{\}?$/, '') : rest
  return [{ name, kind, doc, text: plain(`${name}${text}`), members, path }]
}

function membersOf(lines: readonly string[]): Member[] {
  return statementsOf(lines.map((line) => line.replace(/^ {4}/, '')))
    .filter(({ lines: [first = ''] }) => !/^(private|#|constructor\b)/.test(first))
    .map(({ doc, lines: declared }) => ({ doc, text: plain(declared.join('\n')) }))
}

function textOf({ lines }: Statement): string {
  return lines.join(' ')
}

/** Takes comments, `readonly` and the last semicolon out. */
function plain(text: string): string {
  return text
    .replaceAll(/^ *\/\*\*.*?\*\/\n/gms, '')
    .replaceAll(/\breadonly (?=[\w[])/g, '')
    .replace(/;$/, '')
}

/** Splits a body into statements with the doc comments above them. */
function statementsOf(lines: readonly string[]): Statement[] {
  const statements: Statement[] = []
  let doc: string[] = []
  let open: string[] = []
  let isComment = false
  let depth = 0
  for (const line of lines) {
    const startsComment = line.trimStart().startsWith('/**')
    if (startsComment && open.length === 0) doc = []
    if (startsComment || isComment) {
      ;(open.length === 0 ? doc : open).push(line)
      isComment = !line.trimEnd().endsWith('*/')
      continue
    }
    if (line.trim() === '') continue
    open.push(line)
    depth += depthOf(line)
    if (depth > 0 || !/[;}]$/.test(line)) continue
    statements.push({ doc: uncommented(doc), lines: open })
    doc = []
    open = []
  }
  return statements
}

function depthOf(line: string): number {
  const code = line.replaceAll(/'[^']*'|"[^"]*"/g, '')
  return (code.match(/[{([]/g)?.length ?? 0) - (code.match(/[})\]]/g)?.length ?? 0)
}

function uncommented(lines: readonly string[]): string {
  return lines
    .map((line) => line.replace(/^ *\/?\*+\/? ?/, '').replace(/ *\*\/$/, ''))
    .join('\n')
    .trim()
}
