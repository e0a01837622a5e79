// Passes on graphs in primitives that the program asks for, when gradients are made and what is computed again is decided: its own, before
// our passes there and after them, and those that join equal calls.
import type { Form, Stage } from '@tsinductor/base';
import type { Config } from '@tsinductor/config';
import { batchCalls } from '@tsinductor/graph';
import type { Graph } from '@tsinductor/graph';
import { contextFor, passed, readOption } from './graph-pass.ts';

type LateStage = Stage<Graph, Graph, { readonly config: Config }>;

const latePassStage = (
  form: Form<Graph>,
  { name, doc, setting }: { name: string; doc: string; setting: 'postGradCustomPrePass' | 'postGradCustomPostPass' },
): LateStage => ({
  name,
  doc,
  makes: form,
  run: (graph, { config }) => {
    const hook = config.usePostGradPasses ? config[setting] : null;
    if (hook === null) return graph;
    return passed(graph, hook, { setting, context: contextFor('simplified', graph, config.patternMatcher) });
  },
});

export const postGradPrePass = (form: Form<Graph>): LateStage =>
  latePassStage(form, {
    name: 'post-grad-pre-pass',
    doc: 'the pass of the setting postGradCustomPrePass',
    setting: 'postGradCustomPrePass',
  });

export const postGradPostPass = (form: Form<Graph>): LateStage =>
  latePassStage(form, {
    name: 'post-grad-post-pass',
    doc: 'the pass of the setting postGradCustomPostPass',
    setting: 'postGradCustomPostPass',
  });

export const postGradFusion = (form: Form<Graph>): LateStage => ({
  name: 'post-grad-fusion',
  doc: 'calls that the setting postGradFusionOptions names are one over all of them',
  makes: form,
  run: (graph, { config }) => {
    const context = contextFor('simplified', graph, config.patternMatcher);
    const options = config.usePostGradPasses ? config.postGradFusionOptions.map(readOption) : [];
    return options.reduce((so, { name, least }) => batchCalls(so, name, { least, context }), graph);
  },
});
