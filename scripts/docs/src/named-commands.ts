/** The commands and options of `hermod` that pages name. Pure; generate.ts knows the commands. */
import { blocksOf } from './blocks.js'

/** The used part of a command of commander. */
export interface NamedCommand {
  readonly commands: readonly NamedCommand[]
  readonly options: readonly { readonly long?: string | undefined }[]
  readonly registeredArguments: readonly unknown[]
  name(): string
}

const inline = /`((?:npx )?hermod [^`]+)`/g
// At the beginning of a line, after npx, a setting, or what begins another command.
const call = /(?:^|npx |-- |\$\(|[|&;({] |[A-Z_]+=\S+ )\s*hermod ((?:[^\n|&;)#]|&(?= ))*)/gm
/** Options that every command has. */
const common = ['--help', '--version']

/** @returns the commands that a page names, each without `hermod` */
export function namedCommands(page: string): string[] {
  const texts = [
    ...blocksOf('', page)
      .filter(({ language }) => language === 'sh')
      .map(({ text }) => text.replaceAll(/\\\n\s*/g, '')),
    ...[...page.matchAll(inline)].map(([, text = '']) => text),
  ]
  return texts.flatMap((text) => [...text.matchAll(call)].map(([, words = '']) => words.trim()))
}

/** @returns a line for each command or option that does not exist */
export function unknownCommands(
  pages: Readonly<Record<string, string>>,
  program: NamedCommand,
): string[] {
  return Object.entries(pages).flatMap(([path, text]) =>
    namedCommands(text).flatMap((words) =>
      faultsOf(words.split(/\s+/), program).map((fault) => `${path} names hermod ${fault}`),
    ),
  )
}

function faultsOf(words: readonly string[], program: NamedCommand): string[] {
  const path: string[] = []
  const options = new Set(common)
  let command = program
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word)
    if (!next) break
    path.push(word)
    command = next
    for (const { long } of command.options) if (long) options.add(long)
  }
  const word = words[path.length] ?? ''
  // A command without a word for its subcommand runs its default one.
  if (!/^[a-z]/.test(word))
    for (const { options: more } of command.commands)
      for (const { long } of more) if (long) options.add(long)
  const isUnknown = /^[a-z][a-z-]+$/.test(word) && command.registeredArguments.length === 0
  if (isUnknown) return [`${[...path, word].join(' ')}, which is no command`]
  return words
    .map((each) => /^--[a-z][a-z-]*/.exec(each)?.[0])
    .filter((each) => each !== undefined && !options.has(each))
    .map((option) => `${path.join(' ')} ${option}, which is no option of it`)
}
