ALTER TABLE "links" DROP CONSTRAINT "links_organization_id_organizations_id_fk";

ALTER TABLE "links" DROP COLUMN "organization_id";
