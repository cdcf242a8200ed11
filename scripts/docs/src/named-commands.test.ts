import { expect, it } from 'vitest'
import { type NamedCommand, namedCommands, unknownCommands } from './named-commands.js'

function command(name: string, more: Partial<NamedCommand> = {}): NamedCommand {
  return { commands: [], options: [], registeredArguments: [], name: () => name, ...more }
}

const program = command('hermod', {
  commands: [
    command('app', {
      commands: [command('update', { options: [{ long: '--set' }], registeredArguments: ['id'] })],
    }),
    command('check', { options: [{ long: '--json' }] }),
  ],
})

function faults(page: string): string[] {
  return unknownCommands({ 'a.md': page }, program)
}

it('commands are those of shell blocks and of inline code, with continued lines', () => {
  const page =
    '`hermod check` and `npx hermod app`\n```sh\nid=$(npx hermod app \\\n  update x)\n```\n'
  expect(namedCommands(page)).toEqual(['app update x', 'check', 'app'])
})

it('existing commands with their options and arguments are not reported', () => {
  const lines =
    'npx hermod app update shop --set a=1 | cat --number\nX=y hermod check --json --help'
  expect(faults(`\`\`\`sh\n${lines}\n\`\`\`\n\`hermod app\``)).toEqual([])
})

it('missing commands and options are reported with their page', () => {
  expect(faults('`hermod app remove shop` `hermod check --fast` `npx hermod chek`')).toEqual([
    'a.md names hermod app remove, which is no command',
    'a.md names hermod check --fast, which is no option of it',
    'a.md names hermod chek, which is no command',
  ])
})
