#!/usr/bin/env node
import '@hermod/server/bin/hermod.js'
