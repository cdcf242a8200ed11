/**
 * The shared parts of the subcommands: dependencies, common options, and the call of an operator
 * operation.
 */
import type { Readable, Writable } from 'node:stream'
import type { Operation } from '@hermod/protocol'
import { type Command, type CommandOptions, InvalidArgumentError, Option } from 'commander'
import { type LoadedConfig, loadConfig } from '../../config/config.js'
import type { ReadFile } from '../../config/secret-file.js'
import type { checkImport, importData, undoImportData } from '../../context/database/import-data.js'
import type { restoreChosenBackup } from '../../context/database/restore-backup.js'
import type { digestData, exportData } from '../../context/database/transfer.js'
import type { verifyChosenBackup, verifyCopy } from '../../context/database/verify-backup.js'
import { CommandFailure, type LocalCalls, type OperatorParams, openOperatorCalls } from './call.js'
import { type OptionNames, withOptionNames } from './option-names.js'
import { Printer } from './output.js'

/** `pending`: not applied; `appliedNow`: applied by this run. */
export type MigrationState = 'applied' | 'appliedNow' | 'pending'

export interface Migration {
  readonly name: string
  readonly state: MigrationState
}

export interface MigrationResult {
  /** Every known migration, in order. */
  readonly migrations: readonly Migration[]
  /** The copy of the embedded database from before the change; null where none was made. */
  readonly copy: string | null
}

/** A gateway of the simulator: a push certificate that it takes, and where it listens. */
export interface SimulatedGatewaySettings {
  readonly channel: string
  readonly gateway_app_id: string
  readonly app_key: string
  readonly app_secret: string
  readonly certificate: string
  /** "" where the channel needs none. */
  readonly package_name: string
  /** The address for messages. */
  readonly send_url: string
  /** The address for access tokens; "": `send_url`. */
  readonly auth_url: string
  /** PEM of the authority that signed its certificate. */
  readonly ca: string
}

/** Running simulated push gateways. */
export interface PushSimulation {
  readonly gateways: readonly SimulatedGatewaySettings[]
  /** The authority of all gateways. */
  readonly ca: string
  /** The JSON file of a service account of vendor_h, which version 3 of its API needs. */
  readonly vendor_h_account: string
  /** The answers to device tokens, by their prefixes. */
  readonly scripts: readonly {
    readonly script: string
    readonly prefix: string
    readonly ios_prefix: string
    readonly meaning: string
  }[]
}

/** A request that a simulated gateway got. */
export interface SimulatedCall {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly channel: string
  readonly method: string
  readonly path: string
  readonly body: string
  /** The status and body of the answer, or the action in its place. */
  readonly answer: string
}

export interface PushSimulationOptions {
  /** 0: any free ports. */
  readonly firstPort: number
  readonly receiptUrl: string | undefined
  started(simulation: PushSimulation): Promise<void>
  received(call: SimulatedCall): void
}

/** The progress of a command that takes minutes; what is left out stays as it was. */
export interface CommandProgress {
  readonly done?: number
  /** 0: not known */
  readonly total?: number
  readonly text?: string
}

/** The rows that a digest or an export has. */
export interface ChosenRows {
  /** `move`: all of an installation; `portable`: applications, without credentials. */
  readonly kind: 'move' | 'portable'
  /** Applications of a portable export; [] = all. */
  readonly apps: readonly string[]
}

/** The applications of a portable export, with what they had and need anew. */
export type ExportedApps = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Digests, exports and imports, which need no service. */
export interface DataCommands {
  digest(
    loaded: LoadedConfig,
    chosen: ChosenRows,
    progress: (progress: CommandProgress) => void,
  ): ReturnType<typeof digestData>
  export(
    loaded: LoadedConfig,
    options: ChosenRows & { readonly to: string; readonly dropsUndelivered: boolean },
    progress: (progress: CommandProgress) => void,
  ): ReturnType<typeof exportData>
  import(
    loaded: LoadedConfig,
    options: { readonly from: string },
    progress: (progress: CommandProgress) => void,
  ): ReturnType<typeof importData>
  /** Removes the rows of an unfinished import of applications. @returns the applications */
  undoImport(
    loaded: LoadedConfig,
    progress: (progress: CommandProgress) => void,
  ): ReturnType<typeof undoImportData>
  /** Reads an export without writing anything. */
  checkImport(
    loaded: LoadedConfig,
    options: { readonly from: string },
    progress: (progress: CommandProgress) => void,
  ): ReturnType<typeof checkImport>
}

/** Work that can be ended, with its progress. */
export interface CommandWork {
  readonly signal: AbortSignal
  progress(progress: CommandProgress): void
}

/** Verification of backups and restored copies, which needs no service. */
export interface VerificationCommands {
  readonly backup: typeof verifyChosenBackup
  readonly copy: typeof verifyCopy
}

/** The dependencies of the commands, which construct no part of the service themselves. */
export interface CommandDependencies {
  readonly version: string
  readonly env: NodeJS.ProcessEnv
  /** The source of secrets and files that no option names. */
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly local: LocalCalls
  /** Ends when the server has stopped. */
  serve(loaded: LoadedConfig, options: { readonly withoutCopy: boolean }): Promise<void>
  /** Brings the schema up to date, or only looks. */
  migrate(
    loaded: LoadedConfig,
    options: { readonly statusOnly: boolean; readonly withoutCopy: boolean },
  ): Promise<MigrationResult>
  /**
   * Checks a PostgreSQL database as `serve` does; the embedded one has no such check.
   * @returns the reason when the database does not answer, or null
   * @throws Error when `serve` would refuse the database
   */
  checkDatabase(loaded: LoadedConfig): Promise<string | null>
  /**
   * Gives unused space of the embedded database back to the disk.
   * @returns its size in bytes before and after; null for another database
   */
  compact(loaded: LoadedConfig): Promise<{ readonly before: number; readonly after: number } | null>
  /**
   * Gives the database a new epoch.
   * @returns the epoch
   * @throws Error while a node runs
   */
  newEpoch(loaded: LoadedConfig): Promise<string>
  readonly data: DataCommands
  readonly verification: VerificationCommands
  readonly restore: typeof restoreChosenBackup
  /** Runs simulated push gateways; ends when they have stopped. */
  simulatePush(options: PushSimulationOptions): Promise<void>
  /**
   * Resolves at the first signal to stop; a second one ends the process.
   * @param until ends the listening, so that a signal ends the process as usual
   */
  readonly interrupted: (until: AbortSignal) => Promise<void>
  /** Replaces the file system in tests. */
  readonly readFile?: ReadFile
  /** Milliseconds since 1970; replaces the clock in tests. */
  readonly now?: () => number
}

/** Options that every subcommand has. */
export interface CommonOptions {
  readonly json?: boolean
  readonly url?: string
}

/** The dependencies as a subcommand uses them. */
export class CommandContext {
  constructor(readonly dependencies: CommandDependencies) {}

  /** @throws ConfigError */
  load(): LoadedConfig {
    return loadConfig(this.dependencies.env, this.dependencies.readFile)
  }

  now(): number {
    return this.dependencies.now?.() ?? Date.now()
  }

  printer({ json = false }: CommonOptions): Printer {
    return new Printer(this.dependencies.stdout, json)
  }

  /**
   * Calls one operator operation.
   * @param names of its fields in failures
   * @returns the `data` of the answer
   * @throws CommandFailure when the operation refuses
   */
  async operate<P, D>(
    operation: Operation<P, D>,
    params: NoInfer<P>,
    options: CommonOptions,
    names: OptionNames = {},
  ): Promise<D> {
    return this.session(options, (operate) => operate(operation, params), names)
  }

  /**
   * Calls operator operations one after the other on one opening of the service.
   * @param names of fields in failures
   */
  async session<T>(
    { url }: CommonOptions,
    work: (operate: Operate, isLocal: boolean) => Promise<T>,
    names: OptionNames = {},
  ): Promise<T> {
    const calls = await openOperatorCalls(this.load(), this.dependencies.local, url)
    try {
      const operate = async <P, D>(operation: Operation<P, D>, params: NoInfer<P>) => {
        const { code, data, message } = await calls.call(operation.id, params as OperatorParams)
        if (code !== 200) {
          const words = message ?? `the operation failed with code ${code}`
          throw new CommandFailure(withOptionNames(words, names), code)
        }
        return data as D
      }
      return await work(operate, calls.isLocal)
    } finally {
      await calls.close()
    }
  }
}

/** The type of {@link CommandContext.operate}. */
export type Operate = <P, D>(operation: Operation<P, D>, params: NoInfer<P>) => Promise<D>

/** A subcommand that prints, with --json. */
export function printingCommand(
  parent: Command,
  usage: string,
  description: string,
  options: CommandOptions = {},
): Command {
  return parent
    .command(usage, options)
    .description(description)
    .option('--json', 'print one line of JSON')
}

/** A subcommand that calls operator operations, with --json and --url. */
export function operatingCommand(...parameters: Parameters<typeof printingCommand>): Command {
  return printingCommand(...parameters).addOption(urlOption())
}

/**
 * Reads a positive integer of an argument or option.
 * @throws InvalidArgumentError
 */
export function parseId(input: string): number {
  if (!/^[1-9]\d{0,15}$/.test(input) || !Number.isSafeInteger(Number(input)))
    throw new InvalidArgumentError('It must be a positive integer.')
  return Number(input)
}

/**
 * Returns the reader of a port in an option; 0 is any free one.
 * @param last the greatest port
 */
export function portParser(last: number): (text: string) => number {
  return (text) => {
    const port = Number(text)
    if (/^\d+$/.test(text) && port <= last) return port
    throw new InvalidArgumentError(`It is a number from 0 to ${last}.`)
  }
}

/** --url: the server that operator operations are called at. */
export function urlOption(): Option {
  return new Option(
    '--url <url>',
    'a server elsewhere; HERMOD_OPERATOR_TOKEN is its operator token',
  )
}
