/** Reporter of Vitest: prints a failure when it happens, so that an interrupted run has its texts. */
export default class FailuresReporter {
  onTestCaseResult(test) {
    this.#print(`${test.module.relativeModuleId} > ${test.fullName}`, test.result().errors)
  }

  /** Failures outside of tests, such as those of hooks. */
  onTestSuiteResult(suite) {
    this.#print(`${suite.module.relativeModuleId} > ${suite.fullName}`, suite.errors())
  }

  onTestModuleEnd(module) {
    this.#print(module.relativeModuleId, module.errors())
  }

  #print(name, errors = []) {
    for (const { message, diff = '', stack = message } of errors) {
      const lines = stack.split('\n').filter((line) => !line.includes('/node_modules/'))
      console.log(`failed: ${name}\n${lines.join('\n')}\n${diff}`)
    }
  }
}
