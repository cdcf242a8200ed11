package main

import (
	"errors"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// manifests has what kustomize made, decoded.
type manifests struct {
	deployment appsv1.Deployment
	service    corev1.Service
	settings   corev1.ConfigMap
	budget     policyv1.PodDisruptionBudget
}

func checkKubernetes(folder string) error {
	made, err := build(folder)
	if err != nil {
		return err
	}
	return errors.Join(made.faults()...)
}

func build(folder string) (*manifests, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	made := &manifests{}
	missing := map[string]any{
		"Deployment":          &made.deployment,
		"Service":             &made.service,
		"ConfigMap":           &made.settings,
		"PodDisruptionBudget": &made.budget,
	}
	for _, resource := range resources.Resources() {
		kind := resource.GetKind()
		into := missing[kind]
		if into == nil {
			return nil, fmt.Errorf("%s %s: no check knows this kind, or it is there twice", kind, resource.GetName())
		}
		delete(missing, kind)
		text, err := resource.AsYAML()
		if err != nil {
			return nil, err
		}
		// Refuses fields that the type does not have, and members that are there twice.
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, resource.GetName(), err)
		}
		fmt.Printf("%s %s: decoded as %T\n", kind, resource.GetName(), into)
	}
	for kind := range missing {
		return nil, fmt.Errorf("there is no %s", kind)
	}
	return made, nil
}

func (made *manifests) faults() []error {
	var faults []error
	must := func(is bool, format string, args ...any) {
		if !is {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	pod := made.deployment.Spec.Template
	labels := pod.Labels
	selects := func(selector *metav1.LabelSelector) bool {
		return selector != nil && matches(selector.MatchLabels, labels)
	}
	must(selects(made.deployment.Spec.Selector), "the Deployment does not select its own pods")
	must(matches(made.service.Spec.Selector, labels), "the Service does not select the pods")
	must(selects(made.budget.Spec.Selector), "the PodDisruptionBudget does not select the pods")
	must(made.budget.Spec.MaxUnavailable != nil, "the PodDisruptionBudget has no maxUnavailable")

	spread := pod.Spec.TopologySpreadConstraints
	must(len(spread) > 0 && selects(spread[0].LabelSelector), "the pods are not spread over zones")
	affinity := pod.Spec.Affinity
	must(affinity != nil && affinity.PodAntiAffinity != nil, "the pods may all be on one machine")
	if affinity != nil && affinity.PodAntiAffinity != nil {
		for _, term := range affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			must(selects(term.PodAffinityTerm.LabelSelector), "the anti-affinity does not select the pods")
		}
	}

	if len(pod.Spec.Containers) != 1 {
		return append(faults, errors.New("the pod has not one container"))
	}
	container := pod.Spec.Containers[0]
	must(path(container.StartupProbe) == "/livez", "the startup probe does not ask /livez")
	must(path(container.LivenessProbe) == "/livez", "the liveness probe does not ask /livez")
	must(path(container.ReadinessProbe) == "/readyz", "the readiness probe does not ask /readyz")
	hook := container.Lifecycle
	if hook == nil || hook.PreStop == nil || hook.PreStop.Sleep == nil {
		return append(faults, errors.New("the container has no preStop that sleeps"))
	}
	grace := pod.Spec.TerminationGracePeriodSeconds
	// HERMOD_SHUTDOWN_SECONDS is 20.
	must(grace != nil && *grace > hook.PreStop.Sleep.Seconds+20, "the grace period is too short for preStop and the end of the service")

	must(len(container.EnvFrom) == 1 && container.EnvFrom[0].ConfigMapRef != nil &&
		container.EnvFrom[0].ConfigMapRef.Name == made.settings.Name, "the container does not read the ConfigMap %s", made.settings.Name)
	must(secure(pod.Spec.SecurityContext, container.SecurityContext), "the container has more rights than it needs")
	volumes := map[string]bool{}
	for _, volume := range pod.Spec.Volumes {
		volumes[volume.Name] = !reflect.ValueOf(volume.VolumeSource).IsZero()
	}
	for _, mount := range container.VolumeMounts {
		must(volumes[mount.Name], "the volume %s of %s is not there", mount.Name, mount.MountPath)
	}
	return faults
}

func matches(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

func path(probe *corev1.Probe) string {
	if probe == nil || probe.HTTPGet == nil {
		return ""
	}
	return probe.HTTPGet.Path
}

func secure(pod *corev1.PodSecurityContext, container *corev1.SecurityContext) bool {
	is := func(value *bool, wanted bool) bool { return value != nil && *value == wanted }
	return pod != nil && container != nil && is(pod.RunAsNonRoot, true) &&
		is(container.AllowPrivilegeEscalation, false) && is(container.ReadOnlyRootFilesystem, true) &&
		container.Capabilities != nil && len(container.Capabilities.Drop) == 1 &&
		container.Capabilities.Drop[0] == "ALL"
}
