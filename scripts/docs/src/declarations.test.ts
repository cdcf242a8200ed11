import { describe, expect, it } from 'vitest'
import { renderClient } from './client.js'
import { type Declaration, entryDeclarations } from './declarations.js'

const files: Readonly<Record<string, string>> = {
  'dist/index.d.ts': `/** The entry. */
export * from './api.js';
export { type Failure, codes } from './errors.js';
`,
  'dist/react/index.d.ts': `export * from '../index.js';
/** Reads a view. */
export declare function useView<T>(view: View<T>): T;
`,
  'dist/api.d.ts': `/** Not a part of the page. */
import type { Failure } from './errors.js';
/** A value that changes. */
export interface View<T> {
    /** The {@link Failure} of the last call; see {@link View.subscribe} and {@link Hidden}. */
    readonly failure?: Failure;
    /**
     * Calls a listener
     * after each change.
     * @returns ends the listening
     */
    subscribe(listener: () => void): () => void;
    readonly nested: {
        /** Inside. */
        readonly seq: number;
    };
}
/**
 * - \`on\`: connected
 * - \`off\`: not connected
 */
export type State = 'on' | 'off; really';
interface Hidden {
    readonly seq: number;
}
`,
  'dist/errors.d.ts': `/** Names with codes. */
export declare const codes: {
    /** Closed. */
    readonly closed: -2;
};
/** Why a call failed. */
export declare class Failure extends Error implements Coded {
    #private;
    /** A number. */
    readonly code: number;
    constructor(code: number);
}
/** An inner function. */
export declare function failureOf(code: number): Failure;
`,
}
const read = (path: string) => files[path] ?? null
const entries = {
  '@a/client': entryDeclarations('dist/index.d.ts', read),
  '@a/client/react': entryDeclarations('dist/react/index.d.ts', read),
}

describe('the declarations of an entry', () => {
  it('are those that it exports itself or from other files, by their names there', () => {
    const names = ({ declarations }: { readonly declarations: readonly Declaration[] }) =>
      declarations.map(({ kind, name }) => `${kind} ${name}`)
    expect(names(entries['@a/client'])).toEqual([
      'interface View',
      'type State',
      'class Failure',
      'const codes',
    ])
    expect(names(entries['@a/client/react']).at(-1)).toBe('function useView')
  })

  it('have their members with comments, without private ones and the constructor', () => {
    const [view, , failure] = entries['@a/client'].declarations
    expect(view?.members.map(({ text }) => text)).toEqual([
      'failure?: Failure',
      'subscribe(listener: () => void): () => void',
      'nested: {\n    seq: number;\n}',
    ])
    expect(failure?.text).toBe('Failure extends Error implements Coded')
    expect(failure?.members).toEqual([{ text: 'code: number', doc: 'A number.' }])
  })

  it('fail for a missing file and for a name that the file does not declare', () => {
    expect(() => entryDeclarations('dist/other.d.ts', read)).toThrow('other.d.ts is missing')
    const misnamed = (path: string) =>
      path === 'dist/index.d.ts' ? "export { Gone } from './api.js';" : read(path)
    expect(() => entryDeclarations('dist/index.d.ts', misnamed)).toThrow('exports Gone')
  })
})

describe('the reference of the client', () => {
  const page = renderClient(entries)

  it('has a section for each declaration, once, with its comment', () => {
    for (const name of ['View', 'State', 'Failure', 'codes', 'useView'])
      expect(page.match(new RegExp(`^### ${name}$`, 'gm'))).toHaveLength(1)
    expect(page).toContain('It exports what `@a/client` exports, too.')
    expect(page).not.toContain('Not a part of the page')
  })

  it('shows signatures, members and lists, and tags as sentences', () => {
    expect(page).toContain('```ts\nuseView<T>(view: View<T>): T\n```')
    expect(page).toContain("```ts\ntype State = 'on' | 'off; really'\n```")
    expect(page).toContain('\n- `on`: connected\n- `off`: not connected\n')
    expect(page).toContain('Calls a listener after each change. Returns: ends the listening.')
    expect(page).toContain('- `nested: { seq: number; }`')
  })

  it('links to declarations that the page has, and to no other', () => {
    expect(page).toContain(
      'The [`Failure`](#failure) of the last call; see [`View.subscribe`](#view) and `Hidden`.',
    )
  })
})
