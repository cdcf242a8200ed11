import type { Command } from 'commander'
import { CommandFailure } from './runtime/call.js'
import type { CommandContext } from './runtime/command.js'

/** A separate package, which is built on this one. */
const demoPackage: string = '@hermod/demo'

interface DemoPackage {
  addDemoCommand(program: Command, context: CommandContext): void
}

/** Returns the command of the demo's package; where it is not installed, one that says so. */
export async function loadDemoCommand(): Promise<DemoPackage['addDemoCommand']> {
  try {
    const { addDemoCommand } = (await import(demoPackage)) as DemoPackage
    return addDemoCommand
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    return addMissingDemoCommand
  }
}

function addMissingDemoCommand(program: Command): void {
  program
    .command('demo')
    .description(`Runs the demo, where the package ${demoPackage} is installed.`)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new CommandFailure(
        `the demo needs the package ${demoPackage}, which is not installed: npm install ${demoPackage}`,
      )
    })
}
