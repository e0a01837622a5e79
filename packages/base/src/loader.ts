// How the bundles of this project's packages are loaded, for their entries and for the build that makes them. Re-exports only.
