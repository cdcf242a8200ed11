/** Bundles of the programs of guides, as the tools of their frameworks make them. */
import { type Plugin, rolldown } from 'rolldown'

/** Compilers by the ending of a component; loaded when there is one. */
const compilers: Readonly<Record<string, string>> = {
  vue: 'vue/compiler-sfc',
  svelte: 'svelte/compiler',
}

/** Compiles components of Vue and Svelte. */
const components: Plugin = {
  name: 'components',
  async transform(text, id) {
    const ending = id.slice(id.lastIndexOf('.') + 1)
    const compiler = compilers[ending]
    if (compiler === undefined) return undefined
    const { compile, compileScript, parse } = await import(compiler)
    if (ending === 'svelte') return { code: compile(text, { filename: id, dev: true }).js.code }
    const { descriptor, errors } = parse(text, { filename: id })
    if (errors.length > 0) throw errors[0]
    const { content } = compileScript(descriptor, { id, inlineTemplate: true })
    return { code: content, moduleType: 'ts' }
  },
}

const vueFlags = {
  __VUE_OPTIONS_API__: 'false',
  __VUE_PROD_DEVTOOLS__: 'false',
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
}

/**
 * Bundles a program.
 * @param options.mode `development`: frameworks report mistakes on the console
 * @param options.platform `node`: packages stay outside of the bundle
 */
export async function bundle(
  input: string,
  {
    mode = 'production',
    platform = 'browser',
  }: {
    readonly mode?: 'development' | 'production'
    readonly platform?: 'browser' | 'node'
  } = {},
): Promise<string> {
  const build = await rolldown({
    input,
    platform,
    external: platform === 'node' ? /^[^./]/ : [],
    plugins: [components],
    transform: { define: { 'process.env.NODE_ENV': `"${mode}"`, ...vueFlags } },
    onLog: (level, log, next) => {
      if (log.code !== 'MODULE_LEVEL_DIRECTIVE') next(level, log)
    },
  })
  try {
    const { output } = await build.generate({ format: 'esm' })
    return output[0].code
  } finally {
    await build.close()
  }
}
